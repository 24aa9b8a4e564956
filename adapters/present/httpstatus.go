package present

import (
	"net/http"

	"github.com/countersign-dev/countersign/domain/fault"
)

// statusClientClosed is the status of a request whose client did not wait for the answer. No standard has a word for it; nginx made this one.
const statusClientClosed = 499

// HTTPStatus returns the status of an HTTP answer for a failure of kind k (architecture: errors and codes).
func HTTPStatus(k fault.Kind) int {
	switch k {
	case fault.Invalid:
		return http.StatusBadRequest
	case fault.Denied:
		return http.StatusForbidden
	case fault.Unconfirmed:
		return http.StatusPreconditionRequired
	case fault.NotFound:
		return http.StatusNotFound
	case fault.Conflict:
		return http.StatusConflict
	case fault.State:
		return http.StatusUnprocessableEntity
	case fault.Timeout:
		return http.StatusGatewayTimeout
	case fault.Canceled:
		return statusClientClosed
	case fault.Unavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}
