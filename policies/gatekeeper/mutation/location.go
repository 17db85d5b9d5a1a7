package mutation

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Location is a parsed location, such as spec.containers[name: app].image. Each segment is a
// field or, after a field, the elements of a list.
type Location []segment

// segment is a field, or elements of a list if key is not empty.
type segment struct {
	field string
	// key is the field that identifies the elements of a list. value is its value: a string or an
	// int64, or nil for all elements.
	key   string
	value any
}

func (s segment) isList() bool { return s.key != "" }

// isGlob reports whether the segment selects all elements of a list.
func (s segment) isGlob() bool { return s.isList() && s.value == nil }

// name identifies the segment among those at the same position.
func (s segment) name() string {
	if s.isList() {
		return s.key
	}
	return s.field
}

// ParseLocation parses a location. Names and values of keys that consist of other characters than
// letters, digits, - and _ are quoted with ' or ", with \ before a quote.
func ParseLocation(text string) (Location, error) {
	p := &locationParser{text: text}
	location, err := p.parse()
	if err != nil {
		return nil, fmt.Errorf("%q at character %d: %w", text, utf8.RuneCountInString(text[:min(p.at, len(text))])+1, err)
	}
	return location, nil
}

type locationParser struct {
	text string
	at   int // of the next byte
}

func (p *locationParser) parse() (location Location, err error) {
	for {
		field, err := p.name()
		if err != nil {
			return nil, err
		}
		location = append(location, segment{field: field})
		if p.accept('[') {
			element, err := p.element()
			if err != nil {
				return nil, err
			}
			location = append(location, element)
		}
		if p.skipSpace(); p.at == len(p.text) {
			return location, nil
		}
		if !p.accept('.') {
			return nil, errors.New("want . or the end")
		}
	}
}

// element parses the rest of [key: value].
func (p *locationParser) element() (s segment, err error) {
	if s.key, err = p.name(); err != nil {
		return s, err
	}
	if s.key == "" {
		return s, errors.New("the key of a list must not be empty")
	}
	if !p.accept(':') {
		return s, errors.New("want : and the value of the key")
	}
	if !p.accept('*') {
		if number := p.digits(); number != "" {
			if s.value, err = strconv.ParseInt(number, 10, 64); err != nil {
				return s, fmt.Errorf("%s is too large", number)
			}
		} else if s.value, err = p.name(); err != nil {
			return s, errors.New("want the value of the key, or *")
		}
	}
	if !p.accept(']') {
		return s, errors.New("want ]")
	}
	return s, nil
}

func (p *locationParser) skipSpace() {
	p.at += len(p.text[p.at:]) - len(strings.TrimLeft(p.text[p.at:], " \t\r\n"))
}

// accept skips a character if it is the next one.
func (p *locationParser) accept(c byte) bool {
	p.skipSpace()
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

// digits skips a number.
func (p *locationParser) digits() string {
	p.skipSpace()
	start := p.at
	for p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
		p.at++
	}
	return p.text[start:p.at]
}

// name parses a name, which begins with a digit only in quotes.
func (p *locationParser) name() (string, error) {
	p.skipSpace()
	if p.at == len(p.text) {
		return "", errors.New("want a field name")
	}
	if quote := p.text[p.at]; quote == '"' || quote == '\'' {
		return p.quoted(quote)
	}
	start := p.at
	for p.at < len(p.text) && isNameCharacter(p.text[p.at]) {
		p.at++
	}
	if p.at == start || p.text[start] >= '0' && p.text[start] <= '9' {
		p.at = start
		return "", errors.New("want a field name; write names with other characters than letters, digits, - and _, and names that begin with a digit, in quotes")
	}
	return p.text[start:p.at], nil
}

func (p *locationParser) quoted(quote byte) (string, error) {
	var name strings.Builder
	for p.at++; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == quote:
			p.at++
			return name.String(), nil
		case c == '\\' && p.at+1 < len(p.text):
			p.at++
			name.WriteByte(p.text[p.at])
		default:
			name.WriteByte(c)
		}
	}
	return "", errors.New("the quote is not closed")
}

func isNameCharacter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// hasPrefix reports whether the location begins with another one.
func (l Location) hasPrefix(prefix Location) bool {
	if len(prefix) > len(l) {
		return false
	}
	for i, s := range prefix {
		if s != l[i] {
			return false
		}
	}
	return true
}

// isKey reports whether an element of a list has the key of a segment.
func (s segment) isKey(value any) bool {
	switch want := s.value.(type) {
	case string:
		return value == want
	case int64:
		number, isNumber := value.(json.Number)
		if !isNumber {
			return false
		}
		have, err := number.Int64()
		return err == nil && have == want
	}
	return false
}

// keyValue is the value of the key in a new element.
func (s segment) keyValue() any {
	if number, isNumber := s.value.(int64); isNumber {
		return json.Number(strconv.FormatInt(number, 10))
	}
	return s.value
}
