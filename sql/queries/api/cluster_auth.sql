SELECT name, api_auth_type FROM clusters WHERE id = $1;
