-- What a driver needs of cluster $1.
SELECT id, name, kind, api_url, api_auth_type, coalesce(api_username, '') AS api_username,
       coalesce(api_password, '') AS api_password, coalesce(api_auth_header, '') AS api_auth_header,
       resource_unit, properties, options
FROM clusters WHERE id = $1;
