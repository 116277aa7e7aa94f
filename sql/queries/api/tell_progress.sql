SELECT pg_notify('cigri_progress', $1::text);
