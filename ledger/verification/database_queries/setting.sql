-- A setting of the server.
SELECT current_setting(%(name)s) AS value
