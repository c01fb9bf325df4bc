// The one backend of the page: that of a report if the page is one, else the server.

import type { Backend } from "../api/backend";
import { HttpBackend } from "../api/http";
import { ReportBackend } from "../report/backend";

export const backend: Backend = ReportBackend.inDocument() ?? new HttpBackend();
