import type { ConsentDefinition } from "../../../loans/consent_definitions/model.ts";
import type { Consent } from "../../../loans/consents/model.ts";
import type { LoanApplication, Offer } from "../../../loans/applications/model.ts";
import type { LoanDocument } from "../../../loans/documents/model.ts";
import type { InstalmentRow, LoanProgram } from "../../../loans/programs/model.ts";
import type { Nothing } from "../../../core/schema.ts";
import { get, list, post, put, remove } from "../../api/call.ts";

export const listApplications = list<typeof LoanApplication>("/lending/:environment/applications");
export const getApplication = get<typeof LoanApplication>("/lending/:environment/applications/:id");
export const reviewApplication = post<typeof LoanApplication>(
  "/lending/:environment/applications/:id/review",
);
export const requestAction = post<typeof LoanApplication>(
  "/lending/:environment/applications/:id/request-action",
);
export const approveApplication = post<typeof LoanApplication>(
  "/lending/:environment/applications/:id/approve",
);
export const previewOffer = post<typeof Offer>("/lending/:environment/applications/:id/approve/preview");
export const rejectApplication = post<typeof LoanApplication>(
  "/lending/:environment/applications/:id/reject",
);
export const disburseApplication = post<typeof LoanApplication>(
  "/lending/:environment/applications/:id/disburse",
);
export const listDocuments = list<typeof LoanDocument>("/lending/:environment/applications/:id/documents");
export const verifyDocument = post<typeof LoanDocument>("/lending/:environment/documents/:id/verify");
export const rejectDocument = post<typeof LoanDocument>("/lending/:environment/documents/:id/reject");
export const listConsents = list<typeof Consent>("/lending/:environment/applications/:id/consents");

export const listPrograms = list<typeof LoanProgram>("/lending/:environment/programs");
export const listInstalments = list<typeof InstalmentRow>("/lending/:environment/programs/:id/instalments");
export const getProgram = get<typeof LoanProgram>("/lending/:environment/programs/:id");
export const createProgram = post<typeof LoanProgram>("/lending/:environment/programs");
export const updateProgram = put<typeof LoanProgram>("/lending/:environment/programs/:id");
export const deleteProgram = remove<typeof Nothing>("/lending/:environment/programs/:id");
export const activateProgram = post<typeof LoanProgram>("/lending/:environment/programs/:id/activate");
export const pauseProgram = post<typeof LoanProgram>("/lending/:environment/programs/:id/pause");

export const listDefinitions = list<typeof ConsentDefinition>("/lending/:environment/consent-definitions");
export const createDefinition = post<typeof ConsentDefinition>("/lending/:environment/consent-definitions");
export const publishDefinition = post<typeof ConsentDefinition>(
  "/lending/:environment/consent-definitions/:id/publish",
);
export const retireDefinition = post<typeof ConsentDefinition>(
  "/lending/:environment/consent-definitions/:id/retire",
);
