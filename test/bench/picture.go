package main

import (
	"encoding/json"
	"fmt"
	"html"
	"math"
	"os"
	"strconv"
	"strings"
)

// The picture is made of what was written, so that anybody can make it again: it reads
// the JSON of a result and no more.

// bar is one line of the picture.
type bar struct {
	name  string
	value float64 // milliseconds
	low   float64 // of the turns; both are 0 where there are none
	high  float64
}

// panel is one case.
type panel struct {
	title string
	bars  []bar
}

// drawn are the comparisons in the picture: what is shown of each.
var drawn = []struct {
	layer, name string
	policies    int
	pace, title string
	of          func(writtenContender) bar
}{
	{"direct", "unique Pods", usual, "1 client", "CPU per review, 45 matching policies, unique Pods", cpuBar},
	{"direct", "replicas of one Deployment", usual, "1 client", "CPU per review, 45 matching policies, replicas of one Deployment", cpuBar},
	{"direct", "mixed load", usual, "16 clients", "p99 of a review, 45 matching policies, mixed load of 16 clients", p99Bar},
	{"direct", "unique Pods, policies as in Kyverno", 0, "1 client", "CPU per review, the policies that Kyverno's patterns can say, unique Pods", cpuBar},
	{"direct", publicDenied, 0, "1 client", "CPU per review, public gatekeeper-library, {policies} matching policies, unique Pods, denied", cpuBar},
	{"direct", publicAdmitted, 0, "1 client", "CPU per review, public gatekeeper-library, {policies} matching policies, unique Pods, admitted", cpuBar},
	{"API server", "replicas, created in a dry run", usual, "1 client", "p50 of creating a Pod through the API server, 45 matching policies, replicas", p50Bar},
}

// writtenContender is what MarshalJSON of measured writes.
type writtenContender struct {
	Name        string    `json:"name"`
	CPUMicros   []float64 `json:"cpuMicrosPerReview"`
	P50Micros   []float64 `json:"p50Micros"`
	Percentiles []float64 `json:"percentilesMicros"`
}

type writtenResult struct {
	Date        string   `json:"date"`
	Machine     string   `json:"machine"`
	Versions    []string `json:"versions"`
	Comparisons []struct {
		Layer      string             `json:"layer"`
		Case       string             `json:"case"`
		Policies   int                `json:"matchingPolicies"`
		Pace       string             `json:"pace"`
		Contenders []writtenContender `json:"contenders"`
	} `json:"comparisons"`
}

// ofTurns is a bar as long as the mean of the turns.
func ofTurns(name string, micros []float64) bar {
	b := bar{name: name, low: math.Inf(1)}
	for _, m := range micros {
		b.value += m / 1000 / float64(len(micros))
		b.low, b.high = min(b.low, m/1000), max(b.high, m/1000)
	}
	return b
}

func cpuBar(c writtenContender) bar { return ofTurns(c.Name, c.CPUMicros) }

func p50Bar(c writtenContender) bar {
	b := ofTurns(c.Name, c.P50Micros)
	b.value = c.Percentiles[0] / 1000
	return b
}

func p99Bar(c writtenContender) bar { return bar{name: c.Name, value: c.Percentiles[2] / 1000} }

// picture is the SVG of a result in JSON.
func picture(text []byte) (string, error) {
	var r writtenResult
	if err := json.Unmarshal(text, &r); err != nil {
		return "", fmt.Errorf("reading a result: %w", err)
	}
	var panels []panel
	for _, d := range drawn {
		for _, c := range r.Comparisons {
			if c.Layer != d.layer || c.Case != d.name || c.Pace != d.pace || d.policies != 0 && c.Policies != d.policies {
				continue
			}
			p := panel{title: strings.ReplaceAll(d.title, "{policies}", strconv.Itoa(c.Policies))}
			for _, contender := range c.Contenders {
				p.bars = append(p.bars, d.of(contender))
			}
			panels = append(panels, p)
		}
	}
	if len(panels) == 0 {
		return "", fmt.Errorf("the result of %s has none of the comparisons that are drawn; measure the part peers or library", r.Date)
	}
	return draw(panels, r.Date+", "+r.Machine), nil
}

// Sizes of the picture, in its own units.
const (
	width      = 760
	nameWidth  = 200
	valueWidth = 90
	barHeight  = 16
	barStep    = 22
	titleStep  = 34
)

// draw draws panels below each other. A bar that is twice as long is twice the value; what
// is too short to be seen has its number beside it. Colours are the reader's: text and lines
// have the one of the page, and the style asks which that is.
func draw(panels []panel, caption string) string {
	var out strings.Builder
	height := 44
	for _, p := range panels {
		height += titleStep + len(p.bars)*barStep
	}
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="Lintel and other engines, by case">
<style>
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.title { font-weight: 600 }
.note { font-size: 11px; fill: #59636e }
.other { fill: #8c959f }
.lintel { fill: #0969da }
.spread { stroke: #1f2328; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .note { fill: #9198a1 } .other { fill: #6e7681 } .lintel { fill: #4493f8 } .spread { stroke: #e6edf3 }
}
</style>
`, width, height, width, height)
	y := 0
	for _, p := range panels {
		y += titleStep
		fmt.Fprintf(&out, "<text class=\"title\" x=\"0\" y=\"%d\">%s</text>\n", y-10, html.EscapeString(p.title))
		scale := newScale(p.bars)
		for _, b := range p.bars {
			drawBar(&out, b, y, scale)
			y += barStep
		}
	}
	fmt.Fprintf(&out, "<text class=\"note\" x=\"0\" y=\"%d\">Milliseconds, from 0; each panel has a scale of its own. Lines: lowest and highest turn.</text>\n", y+18)
	fmt.Fprintf(&out, "<text class=\"note\" x=\"0\" y=\"%d\">%s</text>\n</svg>\n", y+34, html.EscapeString(caption))
	return out.String()
}

// newScale gives the length of a value: in proportion, up to the highest.
func newScale(bars []bar) func(float64) float64 {
	high := 0.0
	for _, b := range bars {
		high = max(high, b.value, b.high)
	}
	return func(value float64) float64 {
		if high == 0 {
			return 0
		}
		return float64(width-nameWidth-valueWidth) * value / high
	}
}

func drawBar(out *strings.Builder, b bar, y int, length func(float64) float64) {
	class := "other"
	if strings.HasPrefix(b.name, nameLintel) {
		class = "lintel"
	}
	middle := float64(y) + float64(barHeight)/2
	fmt.Fprintf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", nameWidth-8, middle+4, html.EscapeString(b.name))
	fmt.Fprintf(out, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" rx=\"2\"/>\n", class, nameWidth, y, length(b.value), barHeight)
	end := length(b.value)
	if b.high > 0 {
		fmt.Fprintf(out, "<line class=\"spread\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n", nameWidth+length(b.low), nameWidth+length(b.high), middle, middle)
		end = max(end, length(b.high))
	}
	fmt.Fprintf(out, "<text x=\"%.1f\" y=\"%.1f\">%s ms</text>\n", nameWidth+end+6, middle+4, short(b.value))
}

// short has three digits that count.
func short(value float64) string {
	digits := 2 - int(math.Floor(math.Log10(max(value, 0.001))))
	return fmt.Sprintf("%.*f", max(digits, 0), value)
}

// runPicture writes the picture of a result beside it.
func runPicture(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	svg, err := picture(text)
	if err != nil {
		return err
	}
	return os.WriteFile(strings.TrimSuffix(path, ".json")+".svg", []byte(svg), 0o644)
}
