"""HTML reports: one file each that needs no network, in light and dark, from phone to wide screen."""
