"""The models against their interpreters, versions and known losses."""
