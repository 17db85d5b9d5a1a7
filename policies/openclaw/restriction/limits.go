package restriction

// exhausted stops an analysis that is too large or out of time.
type exhausted struct{ why string }

var (
	outOfTime = exhausted{"the comparison of the policies timed out"}
	tooLarge  = exhausted{"the policies are too large to compare"}
)

// ignoreExhaustion recovers from exhausted, so that the caller returns its partial result.
func ignoreExhaustion() {
	if stopped := recover(); stopped != nil {
		if _, ok := stopped.(exhausted); !ok {
			panic(stopped)
		}
	}
}
