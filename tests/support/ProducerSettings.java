import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.util.HashMap;
import java.util.Map;

/** What ProducerConfig of the Kafka client on the class path makes of settings: a line for each argument `key=value,...`. */
public class ProducerSettings {
    public static void main(String[] arguments) throws Exception {
        for (String given : arguments) {
            Map<String, Object> settings = new HashMap<>();
            settings.put("bootstrap.servers", "localhost:9092");
            for (String serializer : new String[] {"key.serializer", "value.serializer"}) {
                settings.put(serializer, "org.apache.kafka.common.serialization.ByteArraySerializer");
            }
            for (String pair : given.split(",")) {
                if (!pair.isEmpty()) {
                    settings.put(pair.substring(0, pair.indexOf('=')), pair.substring(pair.indexOf('=') + 1));
                }
            }
            System.out.println(result(settings));
        }
    }

    static String result(Map<String, Object> settings) throws Exception {
        Class<?> config = Class.forName("org.apache.kafka.clients.producer.ProducerConfig");
        Constructor<?> constructor = config.getDeclaredConstructor(Map.class);
        constructor.setAccessible(true);
        Field field = config.getSuperclass().getDeclaredField("values");
        field.setAccessible(true);
        try {
            Map<?, ?> values = (Map<?, ?>) field.get(constructor.newInstance(settings));
            return values.get("acks") + " " + values.get("enable.idempotence");
        } catch (InvocationTargetException refused) {
            return "refused";
        }
    }
}
