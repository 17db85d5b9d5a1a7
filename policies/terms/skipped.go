package terms

// SkipObject reads an object without making terms of it, and refuses what Term
// would, or a little more.
func (d *StreamDecoder) SkipObject(depth int) ([]byte, error) {
	value, err := d.ReadValue() // with duplicate names and invalid UTF-8 refused
	if err != nil {
		return nil, readError(err)
	}
	count, widest, err := countValues(value, MaxNesting-depth)
	if err != nil {
		return nil, err
	}
	if widest > MaxAlike {
		return nil, ErrAlike // or maybe not: decoding decides
	}
	if d.values -= count; d.values < 0 {
		return nil, ErrValues
	}
	end := d.InputOffset()
	return d.text[end-int64(len(value)) : end], nil
}

// countValues counts the values of valid JSON, and the members of its widest object,
// and checks its numbers, and that it nests at most that deep.
func countValues(text []byte, nesting int) (count, widest int, err error) {
	var members []int // of the objects and lists around
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			for i++; text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			count++
		case ':':
			count-- // the string before it was a name
			members[len(members)-1]++
			widest = max(widest, members[len(members)-1])
		case '{', '[':
			if nesting--; nesting < 0 {
				return 0, 0, errNesting
			}
			count++
			members = append(members, 0)
		case '}', ']':
			nesting++
			members = members[:len(members)-1]
		case 't', 'f', 'n': // true, false and null have none of these letters but the first
			count++
		case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			start := i
			for i+1 < len(text) && isInNumber(text[i+1]) {
				i++
			}
			if err := CheckNumber(string(text[start : i+1])); err != nil {
				return 0, 0, err
			}
			count++
		}
	}
	return count, widest, nil
}

func isInNumber(c byte) bool {
	return '0' <= c && c <= '9' || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-'
}
