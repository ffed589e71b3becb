"""The pipeline workload: an application of the user's reads inputs and writes outputs, each of which belongs to one."""
