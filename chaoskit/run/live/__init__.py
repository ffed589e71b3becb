"""A live cluster: a deployment whose load is made by others, and whose faults begin and end when their caller says."""
