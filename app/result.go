package app

import (
	"encoding/json"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// CallResult returns the result of a call for its record: the redacted outcome, and the value behind it, which may report a failure although the call
// succeeded. The output of a failed call is in the details of its error.
func CallResult(o tool.Outcome, value any) (tool.Result, tool.Reason) {
	if o.Err != nil {
		f := fault.From(o.Err)
		details, _ := f.Details.(json.RawMessage)
		return tool.Result{Output: tool.TruncateOutput(string(details)), Error: f.Message, Code: string(f.Code)}, tool.ReasonOf(f.Kind)
	}
	result := tool.Result{Success: true, Output: tool.TruncateOutput(o.Text + string(o.Value))}
	if judged, ok := value.(tool.FailureReporter); ok && judged.Failure() != "" {
		result.Success = false
		return result, judged.Failure()
	}
	return result, ""
}
