import { getCredits } from "./service.ts";
import { action } from "../../mcp/shapes.ts";
import { tool } from "../../mcp/tool.ts";
import { subscription_id } from "../tools.ts";

const credits = { ...action(getCredits, "subscription_id"), input: { subscription_id } };

const findCredits = tool({
  name: "billing_get_credits",
  title: "Get a subscription's credits",
  description:
    "Shows how many credits a subscription on a credit plan has used and has left this month. An upgrade adds credits at once.",
  ...credits,
});

const findMyCredits = tool({
  name: "billing_get_my_credits",
  title: "Get my credits",
  description: "Shows how many credits a subscription on a credit plan has used and has left this month.",
  ...credits,
  level: "client",
});

export const creditTools = [findCredits];

/** For client users. */
export const myCreditTools = [findMyCredits];
