import { lendingRoutes, route, routes } from "../../http/route.ts";
import { grantConsent, listConsents, listOwnConsents, revokeConsent } from "./service.ts";

const LIST = {
  summary: "List an application's consents",
  description: "The whole list, or one page when page or limit is given.",
};

const lenderRows = [route("GET /lender/applications/:id/consents", listConsents, LIST)];

export const lenderConsentRoutes = routes({ tag: "Lending", admits: "lender" }, lenderRows);
export const lendingConsentRoutes = lendingRoutes(lenderRows);

export const agentConsentRoutes = routes({ tag: "Borrowing", admits: "agent" }, [
  route("GET /agent/applications/:id/consents", listOwnConsents, LIST),
  route("POST /agent/applications/:id/consents", grantConsent, {
    summary: "Record a borrower's consent",
    description:
      "Records consent to a published definition, with evidence of how and when it was given. The borrower is the application's.",
    status: 201,
    errors: [409],
  }),
  route("POST /agent/consents/:id/revoke", revokeConsent, {
    summary: "Revoke a consent",
    description: "An application that requires it and is submitted or under review moves to action_required.",
    errors: [409],
  }),
]);
