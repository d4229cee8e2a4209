import javassist.ClassPool;
import javassist.CtClass;

/** Writes a class of Kafka's with one line more at the beginning of a method: CLASS METHOD LINE FOLDER. */
public class ChangeMethod {
    public static void main(String[] given) throws Exception {
        CtClass changed = ClassPool.getDefault().get(given[0]);
        changed.getDeclaredMethod(given[1]).insertBefore(given[2]);
        changed.writeFile(given[3]);
    }
}
