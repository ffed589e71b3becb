"""The figures of pages: their data, binned, and the charts that show them."""
