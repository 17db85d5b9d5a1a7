package main

// summary counts objects.
type summary struct {
	Objects int `json:"objects"`
	Denied  int `json:"denied"`
	Warned  int `json:"warned"`
	Patched int `json:"patched"`
}

func summarise(outcomes []outcome) summary {
	s := summary{Objects: len(outcomes)}
	for _, out := range outcomes {
		if len(out.denials) > 0 {
			s.Denied++
		}
		if len(out.warnings) > 0 {
			s.Warned++
		}
		if len(out.patch) > 0 {
			s.Patched++
		}
	}
	return s
}

// countUndecided counts the objects that no policy denied and some could not judge.
func countUndecided(outcomes []outcome) int {
	n := 0
	for _, out := range outcomes {
		if len(out.denials) == 0 && len(out.undecided) > 0 {
			n++
		}
	}
	return n
}
