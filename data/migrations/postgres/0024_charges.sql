ALTER TABLE "billing_models" ADD COLUMN "meter_id" bigint;--> statement-breakpoint
ALTER TABLE "billing_models" ADD COLUMN "charges" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "billing_models" ADD COLUMN "commitment" jsonb;--> statement-breakpoint
ALTER TABLE "billing_models" ADD CONSTRAINT "billing_models_meter_id_meters_id_fk" FOREIGN KEY ("meter_id") REFERENCES "public"."meters"("id") ON DELETE no action ON UPDATE no action;