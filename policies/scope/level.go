package scope

import "fmt"

// Level is the breadth of a scope: 0 is the broadest.
type Level int

// The levels. A narrower one can restrict what the broader ones allow, never widen it.
const (
	Enterprise Level = iota
	Org
	Team
	User
)

var levelNames = []string{"enterprise", "org", "team", "user"}

// ParseLevel reads the name of a level.
func ParseLevel(name string) (Level, error) {
	for i, known := range levelNames {
		if name == known {
			return Level(i), nil
		}
	}
	return 0, fmt.Errorf("unknown scope %q: it is one of enterprise, org, team, user", name)
}

func (l Level) String() string { return levelNames[l] }
