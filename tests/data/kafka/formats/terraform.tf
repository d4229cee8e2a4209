terraform {
  required_providers {
    kafka = { source = "Mongey/kafka" }
  }
}

variable "partitions" {
  default = 6
}

resource "kafka_topic" "orders" {
  name               = "orders"
  replication_factor = 3
  partitions         = var.partitions

  config = {
    "cleanup.policy"      = "compact"
    "min.insync.replicas" = "2"
  }
}

resource "confluent_kafka_topic" "clicks" {
  kafka_cluster {
    id = confluent_kafka_cluster.main.id
  }
  topic_name       = "clicks"
  partitions_count = 4
  config = {
    "retention.ms" = "67890"
  }
}
