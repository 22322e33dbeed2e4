import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.common.TopicPartition;

/**
 * What librdkafka's admin client cannot do.
 *
 * "controller BOOTSTRAP" prints the id of the active controller. "place BOOTSTRAP TOPIC PARTITION NODE,NODE,.. .."
 * gives partitions these replicas, the preferred leader first, and ends when they are in sync.
 */
public class ClusterAdmin {
    private static final int SECONDS = 60;
    private static final int POLL_MS = 100;

    public static void main(String[] arguments) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", arguments[1]))) {
            if (arguments[0].equals("controller")) {
                System.out.println(admin.describeMetadataQuorum().quorumInfo().get(SECONDS, TimeUnit.SECONDS).leaderId());
            } else {
                place(admin, arguments);
            }
        }
    }

    private static void place(Admin admin, String[] arguments) throws Exception {
        Map<TopicPartition, Optional<NewPartitionReassignment>> wanted = new HashMap<>();
        for (int i = 2; i < arguments.length; i += 3) {
            List<Integer> replicas = new ArrayList<>();
            for (String node : arguments[i + 2].split(",")) {
                replicas.add(Integer.valueOf(node));
            }
            TopicPartition partition = new TopicPartition(arguments[i], Integer.parseInt(arguments[i + 1]));
            wanted.put(partition, Optional.of(new NewPartitionReassignment(replicas)));
        }
        admin.alterPartitionReassignments(wanted).all().get(SECONDS, TimeUnit.SECONDS);
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
        while (!admin.listPartitionReassignments(wanted.keySet()).reassignments().get(SECONDS, TimeUnit.SECONDS).isEmpty()) {
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException("replicas are not in sync after " + SECONDS + " s");
            }
            Thread.sleep(POLL_MS);
        }
    }
}
