package app

import (
	"encoding/json"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// CallResult is what came of a call, for its record: the outcome, which is redacted, and the value it was made from, which may know of a
// failure that is none of the call. What a failed call had to show are the details of its fault.
func CallResult(o tool.Outcome, value any) (tool.Result, tool.Reason) {
	if o.Err != nil {
		f := fault.From(o.Err)
		details, _ := f.Details.(json.RawMessage)
		return tool.Result{Output: tool.TruncateOutput(string(details)), Error: f.Message, Code: string(f.Code)}, tool.ReasonOf(f.Kind)
	}
	result := tool.Result{Success: true, Output: tool.TruncateOutput(o.Text + string(o.Value))}
	if judged, ok := value.(tool.Judged); ok && judged.Failure() != "" {
		result.Success = false
		return result, judged.Failure()
	}
	return result, ""
}
