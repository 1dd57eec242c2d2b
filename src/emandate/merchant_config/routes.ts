import { route, routes } from "../../http/route.ts";
import { getEmandateConfig, listEmandateBanks, updateEmandateConfig } from "./service.ts";

export const emandateConfigRoutes = routes({ tag: "E-mandates", admits: "company" }, [
  route("GET /emandate/banks", listEmandateBanks, {
    summary: "List the debit scheme's banks",
    description:
      "A bank that debits both kinds of accounts is listed twice. checked_at is when the scheme last reported who is online, null if never. The sandbox has test banks, too.",
  }),
  route("GET /emandate/config", getEmandateConfig, {
    summary: "Get the merchant configuration",
    description: "The company's settings for the debit scheme. The private key is never returned.",
  }),
  route("PUT /emandate/config", updateEmandateConfig, {
    summary: "Change the merchant configuration",
    description:
      "Admins only. Omitted fields stay, null clears. private_key_pem and scheme_certificate_pem are write-only. Connector fpx is refused while something it needs is missing.",
    errors: [409],
    if_match: true,
  }),
]);
