SELECT pg_notify('cigri_wake', '');
