"""Views with parameters that the SQL port answers itself, by few keyed lookups: the rows are those of the view."""
