import { route, routes } from "../../http/route.ts";
import {
  createBillingModelMigration,
  getBillingModelMigration,
  listBillingModelMigrations,
} from "./service.ts";

export const billingModelMigrationRoutes = routes({ tag: "Billing model changes", admits: "company" }, [
  route("POST /billing-model-migrations", createBillingModelMigration, {
    summary: "Move subscriptions to another billing model",
    description:
      "One change for each: of subscription_ids, or of all that are on from_billing_model_id now. at: next_period is the end of each one's running period, an instant in the past adjusts closed periods. 202 means that it was begun: GET /billing-model-migrations/{id} shows its progress and the errors. A dry run writes nothing, and says which could not be moved.",
    goes_on: ({ status }) => status === "running",
  }),
  route("GET /billing-model-migrations", listBillingModelMigrations, {
    summary: "List migrations of billing models",
    description: "Newest first; the errors are in a migration's detail.",
  }),
  route("GET /billing-model-migrations/:id", getBillingModelMigration, {
    summary: "Get a migration with its progress and errors",
  }),
]);
