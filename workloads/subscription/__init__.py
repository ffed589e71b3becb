"""The subscription workload: the log workload, read by the consumers of one subscription.

They acknowledge what they are given, message by message or cumulatively; some they refuse, some they leave until they
end, and now and then they end abruptly. When the load is over each acknowledges what it has left, and everything else
that it is given, until there is nothing more: what was not acknowledged then must have been delivered again.
"""
