package definition

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReadExceptions(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		value any
		want  Allowance
		err   string
	}{
		"duration":             {value: map[string]any{"maxDuration": "30d"}, want: Allowance{MaxDuration: 30 * day}},
		"days and hours":       {value: map[string]any{"maxDuration": "1d12h"}, want: Allowance{MaxDuration: 36 * time.Hour}},
		"hours":                {value: map[string]any{"maxDuration": "12h"}, want: Allowance{MaxDuration: 12 * time.Hour}},
		"selectors":            {value: map[string]any{"selectors": "allowed"}, want: Allowance{Selectors: true}},
		"no selectors":         {value: map[string]any{"selectors": "forbidden"}},
		"forbidden":            {value: map[string]any{"forbidden": true}, want: Allowance{Forbidden: true}},
		"forbidden and more":   {value: map[string]any{"forbidden": true, "maxDuration": "1d"}, err: ": forbidden leaves nothing for the other fields; keep forbidden alone"},
		"not an object":        {value: "30d", err: ": is a string, not an object such as {maxDuration: 30d}"},
		"unknown":              {value: map[string]any{"maxDurations": "30d"}, err: ".maxDurations: unknown; did you mean maxDuration?"},
		"not a duration":       {value: map[string]any{"maxDuration": "a month"}, err: `.maxDuration: "a month" is not a duration such as 30d or 12h`},
		"a number":             {value: map[string]any{"maxDuration": 30}, err: ".maxDuration: is a number where a string belongs"},
		"negative":             {value: map[string]any{"maxDuration": "-1h"}, err: `.maxDuration: "-1h" is not a duration such as 30d or 12h`},
		"negative days":        {value: map[string]any{"maxDuration": "-1d"}, err: `.maxDuration: "-1d" is not a duration such as 30d or 12h`},
		"zero":                 {value: map[string]any{"maxDuration": "0d"}, err: ".maxDuration: 0d is not between 0 and 3650d"},
		"too long":             {value: map[string]any{"maxDuration": "60000d"}, err: ".maxDuration: 60000d is not between 0 and 3650d"},
		"an overflow of hours": {value: map[string]any{"maxDuration": "65535d2562047h"}, err: `.maxDuration: "65535d2562047h" is not a duration such as 30d or 12h`},
		"neither":              {value: map[string]any{"selectors": "yes"}, err: `.selectors: "yes" is not allowed or forbidden`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var meta Metadata
			errs := meta.set("exceptions", test.value, nil)
			if test.err != "" {
				require.Len(t, errs, 1)
				assert.EqualError(t, errs[0], test.err)
				return
			}
			require.Empty(t, errs)
			assert.Equal(t, test.want, meta.Allowance())
			assert.Len(t, meta.set("exceptions", test.value, nil), 1, "a second one")
		})
	}
	assert.Equal(t, DefaultExceptionDuration, Metadata{}.Allowance().Duration())
}

func TestFormatDays(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "90d", FormatDays(DefaultExceptionDuration))
	assert.Equal(t, "1d12h0m0s", FormatDays(36*time.Hour))
	assert.Equal(t, "12h0m0s", FormatDays(12*time.Hour))
}
