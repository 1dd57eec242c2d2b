import type { ConsentDefinition } from "../../../loans/consent_definitions/model.ts";
import type { Consent } from "../../../loans/consents/model.ts";
import type { LoanApplication } from "../../../loans/applications/model.ts";
import type { LoanDocument } from "../../../loans/documents/model.ts";
import type { LoanProgram } from "../../../loans/programs/model.ts";
import type { Nothing } from "../../../core/schema.ts";
import { get, list, post, put, remove } from "../../api/call.ts";

export const listApplications = list<typeof LoanApplication>(
  "/lending/:environment/applications",
  "LoanApplication",
);
export const getApplication = get<typeof LoanApplication>(
  "/lending/:environment/applications/:id",
  "LoanApplication",
);
export const reviewApplication = post<typeof LoanApplication>(
  "/lending/:environment/applications/:id/review",
  "LoanApplication",
);
export const requestAction = post<typeof LoanApplication>(
  "/lending/:environment/applications/:id/request-action",
  "LoanApplication",
);
export const approveApplication = post<typeof LoanApplication>(
  "/lending/:environment/applications/:id/approve",
  "LoanApplication",
);
export const rejectApplication = post<typeof LoanApplication>(
  "/lending/:environment/applications/:id/reject",
  "LoanApplication",
);
export const disburseApplication = post<typeof LoanApplication>(
  "/lending/:environment/applications/:id/disburse",
  "LoanApplication",
);
export const listDocuments = list<typeof LoanDocument>(
  "/lending/:environment/applications/:id/documents",
  "LoanDocument",
);
export const verifyDocument = post<typeof LoanDocument>(
  "/lending/:environment/documents/:id/verify",
  "LoanDocument",
);
export const rejectDocument = post<typeof LoanDocument>(
  "/lending/:environment/documents/:id/reject",
  "LoanDocument",
);
export const listConsents = list<typeof Consent>(
  "/lending/:environment/applications/:id/consents",
  "Consent",
);

export const listPrograms = list<typeof LoanProgram>("/lending/:environment/programs", "LoanProgram");
export const createProgram = post<typeof LoanProgram>("/lending/:environment/programs", "LoanProgram");
export const updateProgram = put<typeof LoanProgram>("/lending/:environment/programs/:id", "LoanProgram");
export const deleteProgram = remove<typeof Nothing>("/lending/:environment/programs/:id", "Nothing");
export const activateProgram = post<typeof LoanProgram>(
  "/lending/:environment/programs/:id/activate",
  "LoanProgram",
);
export const pauseProgram = post<typeof LoanProgram>(
  "/lending/:environment/programs/:id/pause",
  "LoanProgram",
);

export const listDefinitions = list<typeof ConsentDefinition>(
  "/lending/:environment/consent-definitions",
  "ConsentDefinition",
);
export const createDefinition = post<typeof ConsentDefinition>(
  "/lending/:environment/consent-definitions",
  "ConsentDefinition",
);
export const publishDefinition = post<typeof ConsentDefinition>(
  "/lending/:environment/consent-definitions/:id/publish",
  "ConsentDefinition",
);
export const retireDefinition = post<typeof ConsentDefinition>(
  "/lending/:environment/consent-definitions/:id/retire",
  "ConsentDefinition",
);
