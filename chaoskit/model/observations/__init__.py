"""What operations learned or did, other than messages: a record for each kind.

A record writes itself into rows of a history and reads itself from them. The meaning of the columns `name`, `value` and
`position` stands here and nowhere else.
"""
