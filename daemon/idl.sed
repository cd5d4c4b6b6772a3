# A text file as one C string literal.
s/\\/\\\\/g
s/"/\\"/g
s/^/"/
s/$/\\n"/
