WITH cursor AS (
    UPDATE campaign_cursor SET ntasks = ntasks + $2 WHERE campaign_id = $1
)
UPDATE campaigns SET nb_params = nb_params + $2 WHERE id = $1;
