package restriction

// exhausted stops an analysis that has become too large, or is out of time.
type exhausted struct{ why string }

var (
	outOfTime = exhausted{"there was no time left to compare the policies"}
	tooLarge  = exhausted{"the policies are too large to compare"}
)

// ignoreExhaustion leaves it at what was found when the time was over.
func ignoreExhaustion() {
	if stopped := recover(); stopped != nil {
		if _, ok := stopped.(exhausted); !ok {
			panic(stopped)
		}
	}
}
