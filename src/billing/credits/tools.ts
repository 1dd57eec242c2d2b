import { getCredits } from "./service.ts";
import { action } from "../../mcp/shapes.ts";
import { tool } from "../../mcp/tool.ts";
import { subscription_id } from "../tools.ts";

const findMyCredits = tool({
  name: "billing_get_my_credits",
  title: "Get my credits",
  description: "Shows how many credits a subscription on a credit plan has used and has left this month.",
  ...action(getCredits, "subscription_id"),
  level: "client",
  input: { subscription_id },
});

/** For client users; company users read them in the overview of a subscription. */
export const myCreditTools = [findMyCredits];
