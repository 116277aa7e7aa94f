INSERT INTO job_requests (job_id, asked_by) VALUES ($1, $2) ON CONFLICT DO NOTHING;
