package origin

import (
	"cmp"
	"errors"

	"github.com/lintel-policy/lintel/policies/external"
	"github.com/lintel-policy/lintel/policies/external/rules"
)

// checkData replaces the file of an answer with the checked data in JSON.
func checkData(answer *Answer, request Request) error {
	name := cmp.Or(request.Data.File, "the data")
	text, found := answer.Files[request.Data.File]
	if !found {
		return refuse(ReasonNotFound, "%s has no file %s: correct spec.file", addressOf(request), request.Data.File)
	}
	asJSON, entries, err := request.Data.Check(name, text)
	if refused, ok := errors.AsType[*rules.Error](err); ok {
		return refuse(refused.Reason, "%s", refused.Message)
	}
	answer.Files, answer.Entries = external.Files(asJSON), entries
	return err
}

// aboutData gives the error of a Git or OCI origin that is too large the remedies for data.
func aboutData(err error, request Request) error {
	failure, ok := errors.AsType[*Error](err)
	if !ok || failure.Reason != ReasonTooLarge || request.HTTPS != nil {
		return err
	}
	return refuse(ReasonTooLarge, "%s has more than %d bytes of data, or sends more than %d bytes altogether: shorten the data, raise spec.maxBytes, or keep the data in a repository of its own", addressOf(request), request.Data.MaxBytes, request.Limits.TransferBytes)
}

// DataLimits are DefaultLimits for data of a size in bytes.
func DataLimits(maxBytes int64) Limits {
	limits := DefaultLimits
	limits.FileBytes, limits.TotalBytes = maxBytes, maxBytes
	return limits
}
