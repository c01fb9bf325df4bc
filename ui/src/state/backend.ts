// The backend of the page: the data inside an exported report, else the server.

import type { Backend } from "../api/backend";
import { HttpBackend } from "../api/http";
import { ReportBackend } from "../report/backend";

export const backend: Backend = ReportBackend.inDocument() ?? new HttpBackend();
