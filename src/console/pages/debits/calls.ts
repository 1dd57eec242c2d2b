import type { CollectionRun } from "../../../emandate/collections/model.ts";
import type { EmandateCustomer } from "../../../emandate/customers/model.ts";
import type { MandateFlag } from "../../../emandate/flags/model.ts";
import type { AmendmentPreview, Mandate, MandateDetail } from "../../../emandate/mandates/model.ts";
import type { MerchantConfig } from "../../../emandate/merchant_config/model.ts";
import type { MandatePayment, MandatePaymentDetail } from "../../../emandate/payments/model.ts";
import type { EmandateProduct } from "../../../emandate/products/model.ts";
import type { RanScenario } from "../../../emandate/results/model.ts";
import type { Nothing } from "../../../core/schema.ts";
import { get, list, post, put, remove } from "../../api/call.ts";
import type { Source } from "../../ui/picker.tsx";

export const listMandates = list<typeof Mandate>("/emandate/mandates", "Mandate");
export const getMandate = get<typeof MandateDetail>("/emandate/mandates/:id", "MandateDetail");
export const createMandate = post<typeof Mandate>("/emandate/mandates", "Mandate");
export const authorizeMandate = post<typeof Mandate>("/emandate/mandates/:id/authorize", "Mandate");
export const suspendMandate = post<typeof Mandate>("/emandate/mandates/:id/suspend", "Mandate");
export const resumeMandate = post<typeof Mandate>("/emandate/mandates/:id/resume", "Mandate");
export const cancelMandate = post<typeof Mandate>("/emandate/mandates/:id/cancel", "Mandate");
export const terminateMandate = post<typeof Mandate>("/emandate/mandates/:id/terminate", "Mandate");
export const withdrawRequest = post<typeof Mandate>("/emandate/mandates/:id/withdraw", "Mandate");
export const amendMandate = post<typeof Mandate>("/emandate/mandates/:id/amend", "Mandate");
export const previewAmendment = get<typeof AmendmentPreview>(
  "/emandate/mandates/:id/amend/preview",
  "AmendmentPreview",
);

export const listPayments = list<typeof MandatePayment>("/emandate/payments", "MandatePayment");
export const getPayment = get<typeof MandatePaymentDetail>("/emandate/payments/:id", "MandatePaymentDetail");
export const createPayment = post<typeof MandatePaymentDetail>(
  "/emandate/mandates/:id/payments",
  "MandatePaymentDetail",
);
export const retryPayment = post<typeof MandatePaymentDetail>(
  "/emandate/payments/:id/retry",
  "MandatePaymentDetail",
);
export const cancelPayment = post<typeof MandatePaymentDetail>(
  "/emandate/payments/:id/cancel",
  "MandatePaymentDetail",
);

export const listCollections = list<typeof CollectionRun>("/emandate/collections", "CollectionRun");
export const runCollection = post<typeof CollectionRun>("/emandate/collections/run", "CollectionRun");
export const listFlags = list<typeof MandateFlag>("/emandate/flags", "MandateFlag");
export const resolveFlag = post<typeof MandateFlag>("/emandate/flags/:id/resolve", "MandateFlag");

export const listCustomers = list<typeof EmandateCustomer>("/emandate/customers", "EmandateCustomer");
export const listProducts = list<typeof EmandateProduct>("/emandate/products", "EmandateProduct");
export const createProduct = post<typeof EmandateProduct>("/emandate/products", "EmandateProduct");
export const updateProduct = put<typeof EmandateProduct>("/emandate/products/:id", "EmandateProduct");
export const deleteProduct = remove<typeof Nothing>("/emandate/products/:id", "Nothing");
export const getConfig = get<typeof MerchantConfig>("/emandate/config", "MerchantConfig");
export const updateConfig = put<typeof MerchantConfig>("/emandate/config", "MerchantConfig");
export const runScenario = post<typeof RanScenario>("/emandate/simulator/scenarios/:name/run", "RanScenario");

export const PRODUCTS: Source<EmandateProduct> = {
  from: listProducts,
  one: get<typeof EmandateProduct>("/emandate/products/:id", "EmandateProduct"),
  nameOf: ({ product_name }) => product_name,
};
