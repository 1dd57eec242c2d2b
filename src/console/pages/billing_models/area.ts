export { BillingModelPage } from "./billing_model.tsx";
export { BillingModelsPage } from "./billing_models.tsx";
export { NewBillingModelPage } from "./new_billing_model.tsx";
