package suite

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// assertion is the expected result for the violations of a case. Without a violations field, at
// least one violation is expected, as with "yes".
type assertion struct {
	// Violations are yes, no, or how many.
	Violations count   `json:"violations"`
	Message    *string `json:"message"` // a regular expression of those that count
}

// count is yes, no, or a number.
type count string

// UnmarshalJSON reads a number, a string, or a boolean: YAML decodes a bare yes and no as
// booleans.
func (c *count) UnmarshalJSON(text []byte) error {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return err
	}
	switch value := value.(type) {
	case string:
		*c = count(value)
	case bool:
		*c = map[bool]count{true: "yes", false: "no"}[value]
	case float64:
		*c = count(strconv.FormatFloat(value, 'f', -1, 64))
	default:
		return fmt.Errorf("violations is yes, no, or a number")
	}
	return nil
}

// check returns an error if the assertion does not hold.
func (a assertion) check(violations []string) error {
	matching, about := violations, ""
	if a.Message != nil {
		pattern, err := regexp.Compile(*a.Message)
		if err != nil {
			return fmt.Errorf("message is not a regular expression: %w", err)
		}
		matching, about = nil, fmt.Sprintf(" with a message like %q", *a.Message)
		for _, message := range violations {
			if pattern.MatchString(message) {
				matching = append(matching, message)
			}
		}
	}
	wanted, holds := string(a.Violations), false
	switch wanted {
	case "", "yes":
		wanted, holds = "at least one", len(matching) > 0
	case "no":
		wanted, holds = "none", len(matching) == 0
	default:
		number, err := strconv.ParseUint(wanted, 10, 31)
		if err != nil {
			return fmt.Errorf("violations is %q, not yes, no, or a number", wanted)
		}
		holds = uint64(len(matching)) == number
	}
	if holds {
		return nil
	}
	return fmt.Errorf("violations%s: want %s, found %d of: %s", about, wanted, len(matching), quoted(violations))
}

func quoted(messages []string) string {
	if len(messages) == 0 {
		return "no violation at all"
	}
	list := make([]string, len(messages))
	for i, message := range messages {
		list[i] = strconv.Quote(message)
	}
	return strings.Join(list, ", ")
}
