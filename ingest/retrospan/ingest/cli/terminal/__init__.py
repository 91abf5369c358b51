"""The terminal: screen, tables, text that cannot steer it, times, values, progress, arguments."""
