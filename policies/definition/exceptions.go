package definition

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lintel-policy/lintel/policies/terms"
)

// DefaultExceptionDuration is how far ahead an exception from a policy may expire, unless the
// policy sets custom.exceptions.maxDuration. MaxExceptionDuration is the longest that a policy
// may allow.
const (
	DefaultExceptionDuration = 90 * day
	MaxExceptionDuration     = 3650 * day
)

const day = 24 * time.Hour

// Allowance is what a policy allows exceptions from its rules: custom.exceptions of its METADATA.
// Zero is the default.
type Allowance struct {
	// Forbidden refuses all exceptions.
	Forbidden bool
	// Selectors allows exceptions to select objects by labels, which users who are exempt can
	// usually edit.
	Selectors bool
	// MaxDuration is how far ahead exceptions may expire; zero is DefaultExceptionDuration.
	MaxDuration time.Duration
}

// Duration is how far ahead exceptions may expire.
func (a Allowance) Duration() time.Duration {
	if a.MaxDuration == 0 {
		return DefaultExceptionDuration
	}
	return a.MaxDuration
}

// exceptionKeys are the fields of `exceptions`.
var exceptionKeys = []string{"forbidden", "maxDuration", "selectors"}

// readExceptions reads the setting exceptions. The errors are as those of set.
func (m *Metadata) readExceptions(value any) (errs []error) {
	if m.Exceptions != nil {
		return []error{errors.New(": the package has one already; keep one")}
	}
	m.Exceptions = &Allowance{}
	fields, ok := value.(map[string]any)
	if !ok {
		return []error{fmt.Errorf(": is %s, not an object such as {maxDuration: 30d}", terms.KindOf(value))}
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if err := m.Exceptions.set(key, fields[key]); err != nil {
			errs = append(errs, fmt.Errorf(".%s: %w", key, err))
		}
	}
	if m.Exceptions.Forbidden && len(fields) > 1 && len(errs) == 0 {
		errs = append(errs, errors.New(": forbidden leaves nothing for the other fields; keep forbidden alone"))
	}
	return errs
}

func (a *Allowance) set(key string, value any) error {
	var text string
	switch key {
	case "forbidden":
		return decodeStrict(value, &a.Forbidden)
	case "selectors":
		if err := decodeStrict(value, &text); err != nil {
			return err
		}
		if text != "allowed" && text != "forbidden" {
			return fmt.Errorf("%q is not allowed or forbidden", text)
		}
		a.Selectors = text == "allowed"
		return nil
	case "maxDuration":
		if err := decodeStrict(value, &text); err != nil {
			return err
		}
		duration, err := ParseDays(text)
		if err != nil {
			return err
		}
		if duration <= 0 || duration > MaxExceptionDuration {
			return fmt.Errorf("%s is not between 0 and %s", text, FormatDays(MaxExceptionDuration))
		}
		a.MaxDuration = duration
		return nil
	}
	return errors.New(unknown(key, exceptionKeys))
}

// ParseDays reads a duration such as 30d, 12h or 1d12h.
func ParseDays(text string) (time.Duration, error) {
	invalid := fmt.Errorf("%q is not a duration such as 30d or 12h", text)
	days, rest, hasDays := strings.Cut(text, "d")
	if !hasDays {
		days, rest = "0", text
	}
	count, err := strconv.ParseUint(days, 10, 16)
	if err != nil {
		return 0, invalid
	}
	total := time.Duration(count) * day
	if hasDays && rest == "" {
		return total, nil
	}
	more, err := time.ParseDuration(rest)
	if err != nil || more < 0 || more > MaxExceptionDuration {
		return 0, invalid
	}
	return total + more, nil
}

// FormatDays writes a duration as METADATA have it: 30d, 12h0m0s or 1d12h0m0s.
func FormatDays(duration time.Duration) string {
	days, rest := duration/day, duration%day
	switch {
	case days == 0:
		return rest.String()
	case rest == 0:
		return fmt.Sprintf("%dd", days)
	}
	return fmt.Sprintf("%dd%s", days, rest)
}
