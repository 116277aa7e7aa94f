SELECT EXISTS (SELECT FROM campaigns WHERE state = 'in_treatment')
    OR EXISTS (SELECT FROM campaigns WHERE state = 'cancelled' AND completion_time IS NULL)
