CREATE TABLE "emandate_bank_lists" (
	"company_id" bigint PRIMARY KEY NOT NULL,
	"banks" jsonb NOT NULL,
	"asked_at" timestamp (3) with time zone NOT NULL,
	"checked_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "emandate_configs" (
	"company_id" bigint PRIMARY KEY NOT NULL,
	"connector" text NOT NULL,
	"exchange_id" text,
	"seller_id" text,
	"private_key_sealed" text,
	"scheme_certificate_pem" text,
	"callback_url" text,
	"return_url" text,
	"max_retries" bigint NOT NULL,
	"retry_interval_days" bigint NOT NULL,
	"first_collection_lead_days" bigint NOT NULL,
	"suspend_after_failures" bigint NOT NULL,
	"auto_collect" boolean NOT NULL,
	"holidays" jsonb NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "emandate_bank_lists" ADD CONSTRAINT "emandate_bank_lists_company_id_companies_id_fk" FOREIGN KEY ("company_id") REFERENCES "public"."companies"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "emandate_configs" ADD CONSTRAINT "emandate_configs_company_id_companies_id_fk" FOREIGN KEY ("company_id") REFERENCES "public"."companies"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "emandate_configs_seller" ON "emandate_configs" USING btree ("exchange_id","seller_id");