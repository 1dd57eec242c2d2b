import { route, routes } from "../../http/route.ts";
import { getEmandateConfig, listEmandateBanks, updateEmandateConfig } from "./service.ts";

export const emandateConfigRoutes = routes({ tag: "E-mandates", admits: "company" }, [
  route("GET /emandate/banks", listEmandateBanks, {
    summary: "List the debit scheme's banks",
    description:
      "A bank that debits both kinds of accounts is there twice. checked_at tells when the scheme last said who is online; null: never yet. The sandbox has test banks, too.",
  }),
  route("GET /emandate/config", getEmandateConfig, {
    summary: "Get the merchant configuration",
    description: "How the company works with the debit scheme. The private key is never answered.",
  }),
  route("PUT /emandate/config", updateEmandateConfig, {
    summary: "Change the merchant configuration",
    description:
      "Admins only. What is left out stays, null empties. private_key_pem and scheme_certificate_pem are written, never read. Connector fpx is refused while something it needs is missing.",
    errors: [409],
  }),
]);
