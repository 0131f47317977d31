-- The release of the server, as a number and in words.
SELECT current_setting('server_version_num')::int AS n, version() AS text
