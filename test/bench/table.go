package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
)

// row is one line of the result.
type row struct {
	What      string  `json:"what"`
	Lintel    string  `json:"lintel"`
	Reference string  `json:"reference"`
	Ratio     float64 `json:"ratio,omitempty"` // 0 where there is none
	Target    string  `json:"target,omitempty"`
	Verdict   string  `json:"verdict,omitempty"`
}

// ratioRow compares with a reference; a limit of 0 means that there is no target.
func ratioRow(what, lintel, reference string, measured, against, limit float64) row {
	r := row{What: what, Lintel: lintel, Reference: reference, Ratio: measured / against}
	if limit > 0 {
		r.Target = "≤ " + times(limit, "%g")
		r.Verdict = verdict(r.Ratio, limit)
	}
	return r
}

// verdict compares a measured value with a target, without rounding in between.
func verdict(measured, limit float64) string {
	if measured <= limit {
		return "met"
	}
	if limit == 0 {
		return fmt.Sprintf("missed by %g", measured)
	}
	return fmt.Sprintf("missed by %.1f %%", (measured/limit-1)*100)
}

var header = []string{"what", "Lintel", "reference", "ratio", "target", "result"}

func (r row) cells() []string {
	ratio := ""
	if r.Ratio > 0 {
		ratio = times(r.Ratio, "%.2f")
	}
	return []string{r.What, r.Lintel, r.Reference, ratio, r.Target, r.Verdict}
}

// times is a ratio, as a fraction where it is a small one.
func times(ratio float64, format string) string {
	if ratio < 0.6 {
		return "1/" + strconv.FormatFloat(math.Round(10/ratio)/10, 'f', -1, 64)
	}
	return fmt.Sprintf(format+"×", ratio)
}

func printTable(w io.Writer, rows []row) error {
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, strings.Join(header, "\t"))
	for _, r := range rows {
		fmt.Fprintln(table, strings.Join(r.cells(), "\t"))
	}
	return table.Flush()
}
