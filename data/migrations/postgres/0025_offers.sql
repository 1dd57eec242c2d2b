ALTER TABLE "billing_models" ADD COLUMN "plan_code" text;--> statement-breakpoint
ALTER TABLE "billing_models" ADD COLUMN "for_client_id" bigint;--> statement-breakpoint
ALTER TABLE "billing_models" ADD CONSTRAINT "billing_models_for_client_id_clients_id_fk" FOREIGN KEY ("for_client_id") REFERENCES "public"."clients"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "billing_models_price_book" ON "billing_models" USING btree ("company_id","plan_code","currency") WHERE status = 'active';