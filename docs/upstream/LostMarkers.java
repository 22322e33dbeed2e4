import java.util.List;
import java.util.Optional;
import org.apache.kafka.common.DirectoryId;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.metadata.KRaftMetadataCache;
import org.apache.kafka.server.common.KRaftVersion;

/** Asks the real metadata cache for the leader of a partition that has none: see kafka-lost-markers.md. */
public class LostMarkers {
    public static void main(String[] arguments) {
        Uuid topic = Uuid.randomUuid();
        MetadataDelta delta = new MetadataDelta.Builder().setImage(MetadataImage.EMPTY).build();
        delta.replay(new TopicRecord().setName("outputs").setTopicId(topic));
        delta.replay(new PartitionRecord()
            .setTopicId(topic).setPartitionId(0).setReplicas(List.of(1)).setIsr(List.of(1))
            .setDirectories(List.of(DirectoryId.UNASSIGNED)).setLeader(-1).setLeaderEpoch(1).setPartitionEpoch(1));
        KRaftMetadataCache cache = new KRaftMetadataCache(1, () -> KRaftVersion.LATEST_PRODUCTION);
        cache.setImage(delta.apply(MetadataProvenance.EMPTY));
        ListenerName listener = new ListenerName("PLAINTEXT");
        show("without a leader", cache.getPartitionLeaderEndpoint("outputs", 0, listener));
        show("of no topic", cache.getPartitionLeaderEndpoint("deleted", 0, listener));
    }

    private static void show(String which, Optional<Node> leader) {
        String meaning = leader.isEmpty() ? "deleted, its marker is skipped" : "its marker is tried again";
        System.out.println("a partition " + which + ": " + leader + ", so " + meaning);
    }
}
