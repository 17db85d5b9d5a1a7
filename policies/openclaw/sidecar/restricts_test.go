package sidecar

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// restricts says whether the second answer permits no more than the first. It is
// written from the table of orders, not from the module that makes the answers. nil is
// undefined.
func restricts(decision string, order Order, before, after any) bool {
	switch order {
	case Grant:
		return after == true == (before == true) || before == true
	case Word:
		ranks := Ranks(decision)
		first, _ := before.(string)
		if ranks[first] == 0 {
			return reflect.DeepEqual(before, after)
		}
		second, _ := after.(string)
		return ranks[second] >= ranks[first]
	case Ceiling, Floor:
		first, isNumber := number(before)
		if !isNumber {
			return before == nil || reflect.DeepEqual(before, after)
		}
		second, _ := number(after)
		return order == Ceiling && second <= first || order == Floor && second >= first
	case Subset:
		first, isList := before.([]any)
		if !isList {
			return before == nil || reflect.DeepEqual(before, after)
		}
		second, _ := after.([]any)
		return after != nil && contains(first, second)
	case United:
		if first, isList := before.([]any); isList {
			second, _ := after.([]any)
			return contains(second, first)
		}
		if !strings.HasPrefix(decision, "deny") {
			return before != true || after == true
		}
		return before != true || fires(after)
	default:
		return reflect.DeepEqual(before, after)
	}
}

func number(value any) (float64, bool) {
	n, ok := value.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil && f >= 0
}

func fires(value any) bool {
	list, isList := value.([]any)
	return value == true || isList && len(list) > 0
}

func contains(list, members []any) bool {
	all := map[string]bool{}
	for _, member := range list {
		all[fmt.Sprint(member)] = true
	}
	for _, member := range members {
		if !all[fmt.Sprint(member)] {
			return false
		}
	}
	return true
}
